mkdir -p d/e; for i in 1 2 3; do head -c $((i * 70000)) /dev/zero | tr '\0' $i >d/e/$i; done; truncate -s 9M d/sparse; ln -s e/1 d/l
touch -h -d @1600000000 d d/e d/e/* d/sparse d/l; tar --sort=name --owner=0 --group=0 -cSf a.tar d; md5sum a.tar
mkdir o; tar -xf a.tar -C o; diff -r d o/d && echo same; tar -df a.tar; tar -tvf a.tar | wc -l; tar -czf b.tgz d; tar -tzf b.tgz | sort
tar -cf - d | (cd o; tar xf -; ls); tar --delete -f a.tar d/e/1; tar -tf a.tar; tar -rf a.tar d/e/2; tar -tf a.tar | wc -l; tar xf nowhere 2>/dev/null; echo $?
