public import HandstampCore

extension DeviceID {
  /// The id of the installation of the program `name`, such as `org.example.forum`: drawn at its first use and kept in a file
  /// beside the vaults. Where none can be written, another one for every launch.
  ///
  /// The server replaces the previous session of an account that signs in again with the same device id.
  public static func installation(of name: String) -> DeviceID {
    var drawn = SystemRandomNumberGenerator()
    let id = (0..<2).map { _ in String(drawn.next() as UInt64, radix: 16) }.joined()
    guard let path = ProgramFolder(name)?.path, let kept = try? kept(id, in: path) else { return DeviceID(id) }
    return DeviceID(kept)
  }

  private static func kept(_ id: String, in path: String) throws(VaultError) -> String? {
    guard let folder = try VaultFolder(path).open(making: true) else { return nil }
    if let known = try read(in: folder) { return known }
    do throws(VaultError) {
      let file = try folder.create("device")
      try file.write(Array(id.utf8), attempt: "writing device")
    } catch {
      // Another process was faster.
      return try read(in: folder)
    }
    return id
  }

  private static func read(in folder: PosixFile) throws(VaultError) -> String? {
    guard let file = try folder.open("device", flags: 0), try file.status().isRegular else { return nil }
    let text = String(decoding: try file.readAll(limit: 64), as: UTF8.self)
    return (16...64).contains(text.utf8.count) ? text : nil
  }
}
