# A command, a terminal, a copy, a port passed on, and another user, each through a server of its own on 127.0.0.1.
set -e
rm -rf /tmp/ssh && mkdir -p /tmp/ssh /run/sshd && cd /tmp/ssh
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f key
chmod 755 /tmp/ssh && chmod 644 key.pub
id visitor > /dev/null 2>&1 || useradd -m -p '*' visitor
/usr/sbin/sshd -D -p 12222 -h /tmp/ssh/host -E log -o ListenAddress=127.0.0.1 -o UsePAM=no -o StrictModes=no -o AuthorizedKeysFile=/tmp/ssh/key.pub &
server=$!
for turn in $(seq 100); do nc -z 127.0.0.1 12222 && break; sleep 0.1; done
options="-i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes"
ssh -p 12222 $options root@127.0.0.1 'echo command; exit 7' || echo $?
ssh -p 12222 $options -tt root@127.0.0.1 'test -t 0 && echo terminal' < /dev/null | tr -d '\r'
head -c 2000000 /dev/urandom > data
scp -q -P 12222 $options data root@127.0.0.1:/tmp/ssh/copy && cmp data copy && echo copied
ssh -p 12222 $options -N -L 12223:127.0.0.1:12222 root@127.0.0.1 &
for turn in $(seq 100); do nc -z 127.0.0.1 12223 && break; sleep 0.1; done
ssh -p 12223 $options visitor@127.0.0.1 'id -un; pwd'
kill %2 $server
wait
