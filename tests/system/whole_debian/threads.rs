// Eight threads and a mutex, a channel, a child.
use std::process::Command;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

fn main() {
    let sum = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let sum = sum.clone();
            thread::spawn(move || (0..10_000u64).for_each(|k| *sum.lock().unwrap() += k * i))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{}", sum.lock().unwrap());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || (0..5).for_each(|i| sender.send(i).unwrap()));
    println!("{:?}", receiver.iter().collect::<Vec<i32>>());
    let child = Command::new("echo").arg("child").output().unwrap();
    print!("{}", String::from_utf8(child.stdout).unwrap());
}
