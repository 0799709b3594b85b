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
local library = pathJoin(root, "iolens/lib/libiolens.so")
if mode() ~= "load" or isFile(library) then
   prepend_path("LD_PRELOAD", library)
end
prepend_path("PATH", pathJoin(root, "bin"))
local given = os.getenv("IOLENS_LOGPATH")
if not given or given == logs then
   setenv("IOLENS_LOGPATH", logs)
end
