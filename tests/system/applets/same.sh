[ 1 -lt 2 ] && [[ abc == a* ]] && test -n x && echo yes
echo hello | ascii | head -3
arch; uname -m; linux64 uname -m; linux32 uname -m
printf 'b\na\n' > f; ar p /dev/null 2>&1 | head -1; cat f
ash -c 'x=$((6*7)); echo $x; set -- a b; shift; echo $1; for i in 1 2; do echo -n $i; done; echo; f() { return 3; }; f; echo $?'
echo 'a b 3' | awk '{ $2 = "x"; s += $3 * 2; print $0, s, length($1), toupper($1) } END { printf "%05.2f\n", s }'
echo corral | base64 | tee kept | base64 -d; cat kept
basename /usr/lib/libx.so .so; dirname /usr/lib/libx.so
echo '2^100; scale=5; 10/3; sqrt(2)' | bc
yes corral | head -5000 > f; bzip2 -k f; bzcat f.bz2 | md5sum; bunzip2 -c f.bz2 | cmp - f && echo same
cal 2 2024
printf 'one\n\ttwo\n' > f; cat -A f; cat -n f; tac f; rev f
echo x > f; chmod 640 f; stat -c '%a %s %F %h' f; chmod u+x,g-r f; stat -c %A f
echo 123456789 | cksum 2>/dev/null; echo 123456789 > f; crc32 f
printf 'a\nb\nc\n' > f; printf 'a\nB\nc\n' > g; cmp f g; echo $?; diff f g; diff -u f g | tail -n +3; patch -p0 < /dev/null; echo $?
printf 'a\nb\nc\n' > f; printf 'a\nB\nc\n' > g; diff -u f g > p; patch f p; cmp f g; echo $?
mkdir d; echo 1 > d/a; ln -s a d/l; cp -a d e; ls -1F e; cp d/a b; cat b; mv b c; ls; cp nothing here; echo $?
mkdir d; echo in > d/a; find d | cpio -o -H newc 2>/dev/null > a.cpio; mkdir x; cd x; cpio -i < ../a.cpio 2>/dev/null; cat d/a
printf 'a:b:c\nd:e:f\n' | cut -d: -f1,3; echo abcdef | cut -c2-4
date -u -d @86400 '+%Y-%m-%d %H:%M:%S %a %j'; TZ=CET-1 date -d @0 +%H; date -d nonsense 2>&1; echo $?
echo '3 4 + p 2 ^ p' | dc
dd if=/dev/zero of=f bs=1k count=3 seek=1 2>/dev/null; stat -c %s f; printf abcdef | dd bs=1 skip=2 count=3 conv=ucase 2>/dev/null; echo
printf 'a\r\nb\r\n' > f; dos2unix f; cat -A f; unix2dos f; cat -A f
mkdir d; dd if=/dev/zero of=d/f bs=1k count=64 2>/dev/null; du -k d/f; du -sk d | cut -f2
printf '1\n2\n3\n' > f; printf '2d\nw\nq\n' | ed f > /dev/null; cat f
env -i A=1 sh -c 'echo $A $B'; A=2 printenv A 2>/dev/null || env | grep '^A='; true; false; echo $?
printf 'a\tb\n' | expand -t 4; printf '        x\n' | unexpand -a | cat -A
expr 3 + 4 \* 2; expr abcdef : 'abc\(.*\)'; expr 1 \> 2; factor 1001 97
fallocate -l 4096 f; stat -c %s f; truncate -s 10 f; stat -c %s f
mkdir -p d/e; touch d/a.c d/e/b.c d/x; find d -name '*.c' | sort; find d -type d -exec echo dir {} \; | sort; find d -name x -print0 | xargs -0 rm -v 2>&1
echo 'a long line of words to fold into pieces' | fold -s -w 12; seq 1 5 | paste -s -d+; seq 1 4 | paste - -
getopt -o ab: -l long -- -a -b x --long rest
printf 'foo\nbar\nFoo\n' > f; grep -n -i foo f; grep -c a f; egrep 'f|b' f; fgrep -v bar f; grep -q zzz f; echo $?
yes corral | head -3000 > f; gzip -k f; zcat f.gz | md5sum; gunzip -c f.gz | cmp - f && echo same; gzip -t f.gz && echo sound
seq 20 | head -2; seq 20 | tail -2; seq 20 | tail -n +19; seq 3 | head -c 3
printf 'Corral\n' | hexdump -C; printf 'Corral\n' | xxd; printf 'Corral\n' | xxd -p | xxd -r -p; printf 'AB' | od -c
ipcalc -n -m -b 192.168.3.17/28
echo l > f; ln f g; link f h; ln -s f s; readlink s; realpath s | sed 's|.*/||'; stat -c %h f; unlink h; rm g; stat -c %h f; ls s
ls -la nothing 2>&1; echo $?; touch b a; ls; ls -r; ls -d .
yes corral | head -3000 | lzma | md5sum; yes corral | head -3000 | lzma | unlzma | md5sum; yes | head -99 | xz 2>/dev/null | unxz 2>/dev/null | wc -l; yes corral | head -3000 | lzma | lzcat | wc -l
yes corral | head -3000 | xz 2>/dev/null | xzcat 2>/dev/null | wc; yes corral | head -300 | lzop 2>/dev/null | lzop -d | md5sum
printf corral | md5sum; printf corral | sha1sum; printf corral | sha256sum; printf corral | sha3sum; printf corral | sha512sum
printf corral > f; md5sum f > sums; md5sum -c sums; printf other > f; md5sum -c sums 2>&1; echo $?
mkdir -m 750 d; stat -c %a d; mkdir d 2>&1; mkfifo p; stat -c %F p; (echo through > p &) ; cat p; rmdir d; ls -d d 2>&1
mktemp -u aXXXXXX | wc -c; mktemp -d ./dXXXXXX | wc -c
mkpasswd -m sha256 -S saltsalt word
echo 'x' | more; printf 'a b\n' | nl; nproc > /dev/null && echo counted
printf '%s-%03d-%x\n' a 7 255; printf '%b' 'x\ty\n'; pwd | sed 's|.*/||' | wc -l
mkdir d; echo 'echo ran' > d/one; chmod +x d/one; sed -i '1i#!/bin/sh' d/one; run-parts d; run-parts --test d
printf 'one two\nthree\n' | sed -n 's/\(t[a-z]*\)/<\1>/gp; $='; seq 5 | sed '2,4d;s/5/five/'; sh -c 'echo $0 $1' name arg
printf 'b 2\na 10\nc 1\n' | sort; printf 'b 2\na 10\nc 1\n' | sort -k2 -n -r; seq 10 | shuf | sort -n | md5sum; printf 'a\na\nb\n' | uniq -c
printf 'a\000text here\001\n' | strings; printf abc | split -b 1 - part 2>/dev/null; ls
printf 'in\n' > f; sum f 2>/dev/null; wc f; wc -l < f; printf 'a b\n' | tr 'a-z' 'A-Z'; printf 'aabb' | tr -s ab; echo; printf 'x1y2\n' | tr -d 0-9
mkdir d; echo 1 > d/a; ln -s a d/l; tar cf a.tar d; tar tf a.tar | sort; rm -r d; tar xf a.tar; cat d/l; tar czf a.tgz d; tar tzf a.tgz | wc -l
echo tea | tee f g; cat f g; timeout 1 sleep 60; echo $?; timeout 5 true; echo $?; timeout -s KILL 1 sleep 60; echo $?
touch -d '2001-02-03 04:05:06' f; stat -c %Y f; touch -r f g; [ f -nt g ]; echo $?; truncate -s 1k f; ls -l f | awk '{print $5}'
(time true) 2>&1 | grep -c real; nohup echo kept going 2>/dev/null; usleep 10; sleep 0.01; echo slept
printf 'begin' | uuencode name > u; uudecode -o out u; cat out; echo; printf 'a b' | xargs -n 1 echo item; echo 'a b c' | xargs -I X echo '<X>'
echo data > f; mkdir z; printf 'one\n' | cat - f; which sh | wc -l; tty; setsid echo in a session; dpkg --version 2>&1 | head -1 | wc -l
echo 'a=1' | sort | uniq | sha1sum; od -A d -t x1 /dev/null; hexdump -v -e '1/1 "%02x"' /dev/null; shred -u -n 1 f 2>&1; readlink -f /./
setpriv --no-new-privs echo no more 2>&1 | tail -1; cttyhack true; echo $?
printf 'root:x:0:0\n' > passwd; start-stop-daemon -S -b -x /bin/nothing 2>&1 | wc -l; rpm2cpio /dev/null 2>&1 | wc -l; uncompress nothing.Z 2>&1 | wc -l; unzip nothing.zip 2>&1 | wc -l
printf '1 line\n' | ts '%%' ; ubirename 2>&1 | head -1 | wc -l; nuke; volname 2>/dev/null; echo end
