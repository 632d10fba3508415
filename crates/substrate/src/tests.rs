//! Guards of the surface that the design leans on.
