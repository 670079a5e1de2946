#if Programs && os(Linux)
import Foundation

/// A storm, second by second, as SVG.
struct StormPicture {
  var result: StormResult
  /// When the server was away.
  var outage: ClosedRange<Double>
  private static let (width, height, left, right, top, bottom) = (640.0, 300.0, 70.0, 616.0, 92.0, 236.0)
  private static let style = """
    text{font:12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif;fill:#59636e}\
    .title{font-weight:600;font-size:13px;fill:#1f2328}.paper{fill:#fff;stroke:#d1d9e0}.edge{stroke:#d1d9e0}\
    .away{fill:#d1d9e0;opacity:.6}polyline{fill:none;stroke-width:2}.blue{stroke:#0969da}.green{stroke:#1a7f37}\
    .amber{stroke:#9a6700}.red{stroke:#cf222e}@media (prefers-color-scheme: dark){text{fill:#9198a1}.title{fill:#f0f6fc}\
    .paper{fill:#0d1117;stroke:#3d444d}.edge{stroke:#3d444d}.away{fill:#3d444d}.blue{stroke:#4493f8}.green{stroke:#3fb950}\
    .amber{stroke:#d29922}.red{stroke:#f85149}}
    """

  func write(to path: String) throws {
    let end = result.sessions.compactMap(\.served).max() ?? 0
    let seconds = Int(end.rounded(.up)) + 1
    func perSecond(_ times: [Double]) -> [Double] {
      times.reduce(into: [Double](repeating: 0, count: seconds)) { $0[min(seconds - 1, Int($1))] += 1 }
    }
    let first = perSecond(result.sessions.compactMap(\.first))
    let served = perSecond(result.sessions.compactMap(\.served))
    let turnedAway = (0..<seconds).map { second in
      result.counts.filter { !["request", "served"].contains($0.key) }.values
        .reduce(0.0) { $0 + ($1.indices.contains(second) ? Double($1[second]) : 0) }
    }
    var waiting: [Double] = []
    for second in 0..<seconds { waiting.append((waiting.last ?? 0) + first[second] - served[second]) }
    let lines = [
      ("blue", "first tries", first), ("green", "served", served), ("amber", "refused or lost", turnedAway),
      ("red", "waiting", waiting),
    ]
    let highest = lines.flatMap(\.2).max() ?? 1
    let step = [1, 2, 5, 10, 20, 50].map { $0 * 1000.0 }.first { highest / $0 <= 5 } ?? 100_000
    let most = max(step, (highest / step).rounded(.up) * step)
    func x(_ second: Double) -> Double { Self.left + second / Double(seconds) * (Self.right - Self.left) }
    func y(_ value: Double) -> Double { Self.bottom - value / most * (Self.bottom - Self.top) }
    let title = "\(Double(result.sessions.count).figure) sessions after an outage"
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" width="640" height="300" role="img" aria-labelledby="title">
      <title id="title">\(title): each second's first tries, served ones, and those without an answer; all served after \
      \(end.figure) s</title>
      <style>\(Self.style)</style>
      <rect class="paper" x="0.5" y="0.5" width="639" height="299"/>
      <text class="title" x="24" y="34">\(title)</text>
      <text x="24" y="54">requests of each second, and sessions that wait; the server was killed in the gray moment</text>
      <rect class="away" x="\(x(outage.lowerBound).figure)" y="\(Self.top)" \
      width="\((x(outage.upperBound) - x(outage.lowerBound)).figure)" height="\(Self.bottom - Self.top)"/>

      """
    for value in stride(from: 0, through: most, by: step) {
      let height = y(value).figure
      svg += #"<line class="edge" x1="\#(Self.left)" x2="\#(Self.right)" y1="\#(height)" y2="\#(height)"/>"#
      svg += #"<text x="62" y="\#((y(value) + 4).figure)" text-anchor="end">\#(value.figure)</text>"# + "\n"
    }
    for second in stride(from: 0.0, to: end, by: seconds > 60 ? 20 : 5) {
      svg += #"<text x="\#(x(second).figure)" y="254" text-anchor="middle">\#(second.figure) s</text>"# + "\n"
    }
    for (index, (color, name, values)) in lines.enumerated() {
      let points = values.enumerated().map { "\(x(Double($0) + 0.5).figure),\(y($1).figure)" }.joined(separator: " ")
      svg += #"<polyline class="\#(color)" points="\#(points)"/>"# + "\n"
      let place = 70 + index * 136
      svg += #"<line class="\#(color)" stroke-width="2" x1="\#(place)" x2="\#(place + 16)" y1="276" y2="276"/>"#
      svg += #"<text x="\#(place + 22)" y="280">\#(name)</text>"# + "\n"
    }
    try (svg + "</svg>\n").write(toFile: path, atomically: true, encoding: .utf8)
  }
}
#endif
