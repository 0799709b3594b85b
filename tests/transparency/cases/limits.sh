(ulimit -n 6; for i in 1 2 3; do cat /etc/hostname >o$i; done; ls | sort)
(ulimit -n 3; cat </etc/hostname; echo $?) 2>&1; (ulimit -v 400000; seq 1000 | md5sum); (ulimit -s 256; seq 1000 | sort | md5sum)
(ulimit -f 10; head -c 100000 /dev/zero >big; echo $?; stat -c %s big); (ulimit -u 400; seq 3); (ulimit -c 0; sh -c 'kill -SEGV $$'; echo $?) 2>/dev/null
