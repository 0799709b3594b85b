# Each stressor a bounded number of rounds: its exit code and the rounds that it made.
for stressor in access aio aiol chdir chmod chown dentry dir dirdeep dirmany dnotify dup eventfd fallocate \
	fcntl fiemap fifo file-ioctl filename flock fpunch fstat getdent handle hdd inotify io \
	io-uring iomix lease link lockf mknod msync null open pipe rename revio seek sendfile \
	splice sync-file tee tun utime xattr zero; do
	stress-ng --"$stressor" 1 --"$stressor"-ops 20 --hdd-bytes 2m \
		--copy-file-bytes 128m --dirdeep-inodes 500 --fallocate-bytes 2m --iomix-bytes 2m --seek-size 2m --sync-file-bytes 2m \
		--revio-bytes 2m --sendfile-size 64k --verify -t 10 --temp-path . --metrics-brief >out 2>&1
	code=$?
	echo "$stressor $code" "$(awk -v s="$stressor" '/metrc/ && $4 == s && $5 ~ /^[0-9]+$/ {print $5}' out)" "$(grep -c -E 'fail:|error:' out)"
done
rm -f out
ls -A | sort
