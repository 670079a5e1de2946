"""https://panel.holoviz.org/how_to/authentication/configuration.html: an application whose title is the person"""
import panel as pn

about = pn.state.user_info or {}
pn.state.curdoc.title = f"signed in: {pn.state.user} {about.get('name')} {about.get('sub')}"
pn.pane.Markdown("panel").servable()
