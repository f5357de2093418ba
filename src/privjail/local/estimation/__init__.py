"""The collector's side: frequencies and means from randomised reports."""
