! Names for what a program does: its I/O is then told apart by them in the log of iolens. Compile this file with the program;
! there is no library to link (with glibc before 2.34: -ldl). Where iolens does not run they do nothing.
!
!     use iolens_phase
!     call iolens_phase_begin('checkpoint')
!     write (unit) field
!     call iolens_phase_end('checkpoint')
module iolens_phase
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: iolens_phase_begin, iolens_phase_end

   abstract interface
      subroutine named(name) bind(c)
         import :: c_char
         character(kind=c_char), intent(in) :: name(*)
      end subroutine named
   end interface

   interface
      function find(handle, symbol) bind(c, name='dlsym')
         import :: c_ptr, c_funptr, c_char
         type(c_ptr), value :: handle
         character(kind=c_char), intent(in) :: symbol(*)
         type(c_funptr) :: find
      end function find
   end interface

contains

   subroutine tell(symbol, name)
      character(len=*), intent(in) :: symbol, name
      procedure(named), pointer :: function
      type(c_funptr) :: found
      found = find(c_null_ptr, symbol//c_null_char)
      if (.not. c_associated(found)) return
      call c_f_procpointer(found, function)
      call function(trim(name)//c_null_char)
   end subroutine tell

   subroutine iolens_phase_begin(name)
      character(len=*), intent(in) :: name
      call tell('iolens_runtime_phase_begin', name)
   end subroutine iolens_phase_begin

   subroutine iolens_phase_end(name)
      character(len=*), intent(in) :: name
      call tell('iolens_runtime_phase_end', name)
   end subroutine iolens_phase_end

end module iolens_phase
