mkdir -p s/x; for i in $(seq 30); do seq $((i * 300)) >s/x/$i; done; rsync -a s/ d/ && diff -r s d && echo same
seq 4000 >>s/x/7; rm s/x/9; rsync -a --delete --no-whole-file -c s/ d/; diff -r s d && echo same; rsync -an --itemize-changes s/ d/
rsync -a --sparse --inplace --partial s/x/ e/; diff -r s/x e && echo same; rsync -a nowhere e 2>/dev/null; echo $?
