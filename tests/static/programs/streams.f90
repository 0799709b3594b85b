program streams
  implicit none
  integer :: i, n
  open(unit=10, file='formatted', status='replace')
  do i = 1, 500
    write(10, '(I8)') i
  end do
  rewind(10)
  do i = 1, 500
    read(10, *) n
    if (n /= i) stop 3
  end do
  close(10)
  open(unit=11, file='raw', access='stream', form='unformatted', status='replace')
  write(11) (i, i = 1, 4096)
  close(11)
end program streams
