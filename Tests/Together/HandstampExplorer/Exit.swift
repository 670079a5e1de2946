#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

func exitProcess(_ code: Int32) -> Never { exit(code) }

/// Flushes printed output at once, also into a file.
func showWhatWasPrinted() { fflush(nil) }
