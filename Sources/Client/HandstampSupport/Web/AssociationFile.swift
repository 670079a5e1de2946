/// The files at the root of a host that name apps. The server has them, and `doctor` looks for them.
package enum AssociationFile {
  package static let applePath = "/.well-known/apple-app-site-association"
  package static let androidPath = "/.well-known/assetlinks.json"
  /// Apple's servers refuse a longer file.
  package static let longest = 128 * 1024
}
