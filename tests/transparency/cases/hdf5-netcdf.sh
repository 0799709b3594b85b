printf '1 2 3 4 5 6 7 8 9 10 11 12\n' >in.txt
printf 'netcdf t { dimensions: x = 500 ; y = unlimited ; variables: double v(y, x) ; v:u = "m" ; int w(x) ; data: w = %s ; }' "$(seq -s, 500)" >t.cdl
for k in nc3 nc4 64-bit-offset; do ncgen -k $k -o $k.nc t.cdl; ncdump $k.nc | md5sum; nccopy -d5 -k nc4 $k.nc c-$k.nc; ncdump c-$k.nc | tail -n +2 | md5sum; done
h5dump -H nc4.nc | grep -v HDF5 | md5sum; h5ls -r nc4.nc; h5repack -f GZIP=4 nc4.nc r.h5; h5diff nc4.nc r.h5; echo $?; h5stat r.h5 | grep -c :; h5copy -i r.h5 -o k.h5 -s /w -d /w; h5dump -A 0 -d /w k.h5 | md5sum
