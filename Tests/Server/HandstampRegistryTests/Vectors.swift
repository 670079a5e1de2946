/// Values computed independently from the format's description with Python's `hmac` and `hashlib`: the master key is the
/// bytes 0 to 31, the session 100 to 115, the counter 300, the mark 0102030405060708.
enum Vectors {
  static let token = "hst1.k1.ZGVmZ2hpamtsbW5vcHFyc6wCAQIDBAUGBwg-P_pe1WBOvIsvFkCRI0P-"
  static let handle = "hsr1.k1.ZGVmZ2hpamtsbW5vcHFyc68yWZ7DEKjLLH5MA7Guqd8"
}
