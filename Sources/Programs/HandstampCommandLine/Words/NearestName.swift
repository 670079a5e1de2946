#if Command
/// Which name was meant by one that is unknown.
package enum NearestName {
  /// Names the nearest one, if it is near, and the command `list` that prints all.
  package static func hint(for name: String, among known: [String], in list: String) -> String {
    let ranked = known.map { (name: $0, distance: distance($0, name)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= max(2, name.count / 4) else {
      return "\(list) lists all"
    }
    return "did you mean \(best.name)? \(list) lists all"
  }

  /// How many characters have to be added, removed or replaced (Levenshtein).
  private static func distance(_ first: String, _ second: String) -> Int {
    let second = Array(second)
    var row = Array(0...second.count)
    for (index, character) in first.enumerated() {
      var corner = row[0]
      row[0] = index + 1
      for place in second.indices {
        let replaced = corner + (character == second[place] ? 0 : 1)
        corner = row[place + 1]
        row[place + 1] = min(replaced, row[place] + 1, corner + 1)
      }
    }
    return row[second.count]
  }
}
#endif
