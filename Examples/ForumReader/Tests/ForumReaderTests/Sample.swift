import ForumReader

/// Pages in the style of old forums: unclosed tags, bare ampersands, attributes without quotes.
enum Sample {
  static let index = """
    <HTML><body data-user="42"><b id="loggedinusername">ada</b>
    <table id=forums><tr><th class=category colspan=3><a href="forumdisplay.php?forumid=40&s=">Main</a>
    <tr class=forum><td><a class=forum href='forumdisplay.php?s=&forumid=1' title="All about nonsense">General Nonsense</a><td>1,204
    <tr class=forum><td><a class=forum href="forumdisplay.php?forumid=26">Engines & Looms</a>
    <tr><th class=category><a href="forumdisplay.php?forumid=41">Archives</a></table>
    """
  static let threads = """
    <body data-forum=26 data-user=42><div class=breadcrumbs><a href=/>Home</a> &gt; <a href=#>Engines &amp; Looms</a></div>
    <div class="pages top" data-current-page=2 data-total-pages="7" data-per-page=40>Pages</div>
    <table id=forum><tr class="thread sticky" id=thread26000><td class=title>
    <a class=thread_title href="showthread.php?threadid=26000">Rules – read “me”</a> <a class=count href=#><b>1,012</b></a>
    <td class=author><a href=member.php?userid=7>Zoë</a><td class=replies>1,099<td class=lastpost>Jan 1
    <tr class="thread closed" id=thread26001><td class=title><a class=thread_title href=#>Old</a><a class=x href=#>X</a><td class=author>ada<td class=replies>0
    <tr class="thread" id="thread26002; DROP TABLE"><td class=title><a class=thread_title href=#>Bad id</a>
    <tr class="thread" id=thread26003><td class=title><a class=thread_title href=#>New</a><td class=replies>3</table>
    """
  static let posts = """
    <body data-forum=26 data-thread=26001 data-user=42><a class=bclast href=#>Old</a>
    <div class="pages" data-current-page=1 data-total-pages=1></div><div id=thread>
    <table class="post" id=post901 data-idx=1><tr class=seen1><td class="userinfo userid-7"><dl><dt class="author op">Zoë<dd class=title>x</dl>
    <td class=postbody><blockquote><h4>ada posted:</h4>Tea & <b>cake</blockquote>First<br>second <b>b<i>old</b> text</i><script>alert("<p>")</script>
    <tr><td class=postdate>Jan 2, 2026</table>
    <table class=post id=post902 data-idx=2><tr class=altcolor1><td class="userinfo userid-42"><dl><dt class=author>ada</dl><td class=postbody>red ☃ <img src=x title=":)"></table></div>
    """
  /// Two ignored posts: the first of the page and one in the middle.
  static let ignoring = """
    <body data-forum=26 data-thread=26001 data-user=42><a class=bclast href=#>Old</a>
    <div class="pages" data-current-page=2 data-total-pages=2></div><div id=thread>
    <table class="post ignored" id=post940><tr><td class="userinfo userid-13"><dl><dt class=author>Mallory</dl><td class=postbody>Ignored.</table>
    <table class=post id=post941 data-idx=42><tr class=seen1><td class="userinfo userid-7"><dl><dt class=author>Zoë</dl><td class=postbody>one<tr><td class=postdate>Jan 3, 2026 9:15 PM</table>
    <table class="post ignored" id=post942><tr><td class="userinfo userid-13"><dl><dt class=author>Mallory</dl><td class=postbody>Ignored.</table>
    <table class=post id=post943 data-idx=44><tr class=altcolor2><td class="userinfo userid-42"><dl><dt class=author>ada</dl><td class=postbody>two<tr><td class=postdate>Jan 4, 2026 21:16</table></div>
    """
  static let bookmarks = """
    <body class="forum bookmark_threads" data-user=42><div class="pages" data-current-page=1 data-total-pages=2></div>
    <table id=forum><tr class="thread bm0" id=thread26003><td class=title><a class=thread_title href=#>New</a><td class=author>ada<td class=replies>3<td class=lastpost>11:30 PM Jan 4, 2026
    <tr class=thread id=thread1007><td class=title><a class=thread_title href=#>Elsewhere</a> <a class=count href=#><b>2</b></a><td class=author>Zoë<td class=replies>41<td class=lastpost>Jan 5, 2026 08:00</table>
    """
  static let profile = """
    <body><div id=profile data-user=7><b class=author>Zoë</b><i class=title>Countess</i><b class=registered>Dec 10, 2001</b>
    <b class=posts>1,815</b><div class=about>Likes numbers.<br>And looms.</div></div>
    """
  static let messages = """
    <body><table id=messages><tr class=new><td class=title><a href=private.php?action=show&privatemessageid=421>Hi</a><td class=sender>Zoë<td class=date>Feb 1
    <tr class=old><td class=title><a href=private.php?action=show&privatemessageid=422></a></table>
    """
  static let message = """
    <body><div id=message data-message=421><h2 class=subject>Hi</h2><table><tr><td class=userid-7><b class=author>Zoë</b>
    <td class=postbody>For <i>your</i> eyes<tr><td class=postdate>Feb 1</table></div>
    """
  static let refusals: [(text: String, refusal: ForumRefusal)] = [
    ("<body class=\"database_error\"><h1>Oops", .databaseDown),
    ("<body class='standarderror closed'><h2>Closed</h2><div class=inner>After tea.", .closed("After tea.")),
    ("<body class=banned><p class=reason>Puns</p><p class=until>2027</p>", .banned(Ban(reason: "Puns", end: "2027"))),
    (
      "<body class=standarderror><h2>No</h2><div class=inner>You must register <form action=account.php></form></div>",
      .mustRegister
    ),
    ("<body class=standarderror><h2>Gone</h2><div class=inner>Nothing", .refused(title: "Gone", text: "Nothing")),
    (
      "<body class=standarderror><h2>No</h2><div class=inner>That name and that password do not fit",
      .refused(title: "No", text: "That name and that password do not fit")
    ),
  ]
  static let pages =
    [index, threads, posts, ignoring, bookmarks, profile, messages, message] + refusals.map(\.text)
}
