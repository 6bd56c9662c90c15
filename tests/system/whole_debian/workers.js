// Four workers, a child, a directory, a timer, a watched directory: one after the other.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execSync } = require('child_process');
const fs = require('fs');

function count(step) {
  return new Promise(resolve => new Worker(__filename, { workerData: step }).on('message', resolve));
}

async function main() {
  const sums = await Promise.all([2, 3, 4, 5].map(count));
  console.log(sums.reduce((a, b) => a + b));
  console.log(execSync('echo child').toString().trim());
  console.log((await fs.promises.readdir('/usr/bin')).length > 500);
  await new Promise(resolve => setTimeout(resolve, 50));
  const folder = fs.mkdtempSync('/tmp/node-');
  fs.watch(folder, (_, name) => { console.log('watched', name); process.exit(0); });
  setTimeout(() => fs.writeFileSync(folder + '/file', 'x'), 50);
}

if (isMainThread) {
  main();
} else {
  let sum = 0;
  for (let k = 0; k < 3e6; k++) sum += k % workerData;
  parentPort.postMessage(sum);
}
