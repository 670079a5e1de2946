// The C library, whatever its name: `import HandstampSupport` replaces the three conditional imports. Only this package's own
// modules import it, so that it reaches no app.
#if canImport(Darwin)
@_exported public import Darwin
#elseif canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#endif
