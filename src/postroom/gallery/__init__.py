"""The gallery: every template of every portal, in every language, with every sample, to be looked at before it is sent.

`collection` knows the portals and what is wrong with them, `walls` and `exhibit` say what a page shows, `document`
makes the HTML fit for a frame, `routes` serves it all. Three houses show it: `postroom template preview` (`site`), the
admin app and the dev inbox; what differs between them is a `Host`.
"""
