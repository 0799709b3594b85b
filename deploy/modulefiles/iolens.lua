-- For Lmod. The two lines that a site edits: where iolens is installed, and where logs go.
local root = "/opt/iolens"
local logs = "/logs/iolens"

whatis("iolens: what programs read and write (preloaded into every program)")
help([[
iolens observes the I/O of MPI programs and writes a log of each.
Without it: module unload iolens, or for good: iolens disable
]])
conflict("darshan")

-- What is not there is not preloaded: every program would complain. What was loaded is unloaded in any case.
-- glibc's loaders put a directory in place of $LIB. That of musl, which would end its programs over the library, finds no file.
local library = pathJoin(root, "iolens/lib/libiolens.so")
local linked = isFile(pathJoin(root, "iolens/preload/lib64/libiolens.so"))
if mode() ~= "load" or (not linked and isFile(library)) then
   prepend_path("LD_PRELOAD", library)
end
if mode() ~= "load" or linked then
   prepend_path("LD_PRELOAD", pathJoin(root, "iolens/preload/$LIB/libiolens.so"))
end
prepend_path("PATH", pathJoin(root, "bin"))
local given = os.getenv("IOLENS_LOGPATH")
if not given or given == logs then
   setenv("IOLENS_LOGPATH", logs)
end
