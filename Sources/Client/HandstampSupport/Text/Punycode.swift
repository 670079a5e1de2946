/// The form of domain names that has ASCII alone (RFC 3492).
package enum Punycode {
  /// Returns the A-label of a label in lower case (RFC 5890 section 2.3.2.1); one of ASCII is its own.
  package static func label(_ text: String) -> String {
    let points = text.unicodeScalars.map { Int($0.value) }
    var label = points.filter { $0 < 128 }.map { UInt8($0) }
    guard label.count < points.count else { return text }
    let plain = label.count
    var (done, least, delta, bias) = (plain, 128, 0, 72)
    if plain > 0 { label.append(UInt8(ascii: "-")) }
    while let next = points.filter({ $0 >= least }).min() {
      delta += (next - least) * (done + 1)
      for point in points {
        if point < next { delta += 1 }
        guard point == next else { continue }
        var (rest, place) = (delta, 36)
        while case let threshold = min(max(place - bias, 1), 26), rest >= threshold {
          label.append(digit(threshold + (rest - threshold) % (36 - threshold)))
          (rest, place) = ((rest - threshold) / (36 - threshold), place + 36)
        }
        label.append(digit(rest))
        bias = adapted(delta / (done == plain ? 700 : 2), done + 1)
        (delta, done) = (0, done + 1)
      }
      (delta, least) = (delta + 1, next + 1)
    }
    return "xn--" + String(decoding: label, as: UTF8.self)
  }

  private static func digit(_ value: Int) -> UInt8 { UInt8(value < 26 ? 0x61 + value : 0x16 + value) }

  /// RFC 3492 section 6.1, with a delta that was damped.
  private static func adapted(_ delta: Int, _ count: Int) -> Int {
    var (delta, place) = (delta + delta / count, 0)
    while delta > 455 { (delta, place) = (delta / 35, place + 36) }
    return place + 36 * delta / (delta + 38)
  }
}
