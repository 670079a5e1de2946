#if Command
extension CommandProgram {
  /// The version of this source, the only place that holds it. Packages take it from here, and `make lint` compares the changelog.
  package static let version = "0.1.0"
}
#endif
