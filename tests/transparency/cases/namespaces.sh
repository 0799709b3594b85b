unshare -U sh -c 'id -u; echo a >f; cat f' ; unshare -Ur sh -c 'id -u; echo b >f; cat f'; unshare -Umpfr --mount-proc sh -c 'echo $$; echo c >g; cat g; ls /proc | grep -c "^[0-9]"'
unshare -Un cat /etc/hostname | wc -l; unshare -Uimr sh -c 'mount -t tmpfs none /dev/shm && ls -A /dev/shm; echo d >h; cat h'
