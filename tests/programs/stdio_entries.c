#include "must.h"

#include <grp.h>
#include <malloc.h>
#include <mntent.h>
#include <pwd.h>

static void written(void)
{
	char *none[] = {NULL};
	const struct passwd user = {"ann", "x", 1, 1, "", "/", "/bin/sh"};
	const struct group group = {"staff", "x", 1, none};
	FILE *f = fopen("out", "w");
	MUST(f != NULL && fputs("12345678\n", f) >= 0);
	MUST(putpwent(&user, f) == 0 && putgrent(&group, f) == 0 && fputs("1234\n", f) >= 0);
	MUST(fclose(f) == 0);
	f = setmntent("more", "r+");
	MUST(f != NULL && fputs("mine", f) >= 0);
	MUST(addmntent(f, &(struct mntent){"dev", "/c", "ext4", "ro", 0, 0}) == 0);
	MUST(endmntent(f) == 1);
	f = fopen("memory", "w");
	MUST(f != NULL && malloc_info(0, f) == 0 && fclose(f) == 0);
	int ends[2];
	MUST(pipe(ends) == 0 && (f = fdopen(ends[1], "w")) != NULL && putpwent(&user, f) == 0 && fclose(f) == 0);
}

int main(void)
{
	char text[256];
	struct mntent mount, *m;
	struct passwd user, *u;
	FILE *f = setmntent("mounts", "r");
	MUST(f != NULL);
	MUST((m = getmntent(f)) != NULL && strcmp(m->mnt_dir, "/a") == 0);
	MUST(getmntent_r(f, &mount, text, sizeof text) == &mount && strcmp(mount.mnt_dir, "/b") == 0);
	MUST(getmntent(f) == NULL);
	MUST(endmntent(f) == 1);
	f = fopen("users", "r");
	MUST(f != NULL);
	MUST((u = fgetpwent(f)) != NULL && strcmp(u->pw_name, "ann") == 0);
	MUST(fgetpwent_r(f, &user, text, sizeof text, &u) == 0 && strcmp(user.pw_name, "bob") == 0);
	MUST(fgetpwent(f) == NULL);
	MUST(fclose(f) == 0);
	f = fopen("groups", "r");
	MUST(f != NULL);
	MUST(fgetgrent(f) != NULL);
	MUST(fclose(f) == 0);
	written();
}
