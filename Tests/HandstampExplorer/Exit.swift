#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

func exitProcess(_ code: Int32) -> Never { exit(code) }

/// Shows what was printed at once, also where it goes into a file.
func showWhatWasPrinted() { fflush(nil) }
