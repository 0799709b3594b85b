printf 'netcdf t { dimensions: x = 500 ; y = unlimited ; variables: double v(y, x) ; v:u = "m" ; int w(x) ; data: w = %s ; }' "$(seq -s, 500)" >t.cdl
for k in 1 2 5; do ncmpigen -v $k -o $k.nc t.cdl; echo $?; ncmpidump $k.nc | tail -n +2 | md5sum; ncvalidator -q $k.nc; echo $?; ncoffsets -s $k.nc | md5sum; done
cp 5.nc same.nc; ncmpidiff 2.nc 5.nc; echo $?; cdfdiff 2.nc 2.nc; echo $?
ncmpidump 5.nc >d.cdl; ncmpigen -v 5 -o again.nc d.cdl; cdfdiff 5.nc again.nc; ncmpidump -h 2.nc | md5sum; ls -l 1.nc 2.nc 5.nc | awk '{print $5}'
for n in 1 2; do mpiexec.openmpi --allow-run-as-root --oversubscribe -n $n ncmpidiff 5.nc same.nc; echo $?; done
