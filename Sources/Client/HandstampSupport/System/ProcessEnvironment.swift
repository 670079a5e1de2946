/// The environment of the process.
package enum ProcessEnvironment {
  /// The value of a variable; `nil` if it is not set, or empty.
  package static subscript(name: String) -> String? {
    getenv(name).flatMap { $0[0] == 0 ? nil : String(cString: $0) }
  }
}
