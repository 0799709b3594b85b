export GIT_AUTHOR_DATE='@1600000000 +0000' GIT_COMMITTER_DATE='@1600000000 +0000' GIT_CONFIG_GLOBAL=/dev/null HOME=$PWD
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main r && cd r; for i in $(seq 60); do seq $i $((i * 9)) >f$((i % 11)); git add .; git commit -qm "c $i"; done
git rev-parse HEAD; git checkout -q -b side HEAD~20; seq 3 >new; git add new; git commit -qm side; git merge -q -m m main; git rev-parse HEAD^{tree}
git gc -q; git fsck --full; git repack -adq; git verify-pack -v .git/objects/pack/*.idx | tail -1 | cut -c1-20; cd ..
git clone -q r c && git -C c log --oneline | wc -l; git -C c bisect start HEAD HEAD~9 >/dev/null && git -C c bisect run true | tail -1
git -C r format-patch -q -3 -o ../p HEAD; ls p | wc -l; git -C c stash list; git -C r archive HEAD | md5sum; git -C r grep -c 5 | sort | head
