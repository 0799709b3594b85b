#include "must.h"

#include <grp.h>
#include <mntent.h>
#include <pwd.h>

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
}
