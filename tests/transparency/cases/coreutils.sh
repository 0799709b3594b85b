mkdir -p t/a t/b; for i in $(seq 200); do echo "line $i $((i * 7919 % 1009))"; done >t/a/f
cp -a t u && diff -r t u && echo same; cp --reflink=auto --sparse=always t/a/f s; cksum s
sort -k3n t/a/f | uniq -c | md5sum; sort -S 20k -T . t/a/f | md5sum; split -l 7 t/a/f x. && cat x.* | md5sum
shuf --random-source=t/a/f t/a/f | md5sum; tac t/a/f | rev | cut -c2- | tr a-z A-Z | fold -w 5 | md5sum
dd if=t/a/f of=o bs=13 conv=sync,notrunc seek=2 status=none; md5sum o; truncate -s 1M o; stat -c %s o
head -c 1000 t/a/f | tail -c +17 | od -An -tx1 | md5sum; paste t/a/f t/a/f | join -1 2 -2 2 - t/a/f 2>/dev/null | wc -l
ln -s f t/a/l; ln t/a/f t/a/h; mv t/b t/c; install -m 600 t/a/f i; stat -c '%a %n' i; tee z <t/a/f | wc -c; md5sum z
find t | sort; du -a --apparent-size t | sort; rm -r t u; ls -A | sort; mktemp -d ./XXXX >/dev/null; timeout 0.2 sleep 5; echo $?
env -i /bin/echo gone; printf 'a\0b' | xargs -0 -n1 echo; yes | head -3; seq 5 | nl; comm -12 <(seq 5) <(seq 3 9)
