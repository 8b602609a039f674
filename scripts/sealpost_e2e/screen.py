"""A page in Chromium as a person sees it: its size, its theme, and the rules that it must keep."""

import json
import time

from sealpost_e2e import chromium, require

THEMES = ("light", "dark")
# The faults of the drawn page, as a list of sentences.
RULES = r"""(() => {
    const wrong = [], page = document.querySelector('dialog[open]') ?? document.body;
    const name = element => `<${element.localName}${element.className?.baseVal ?? element.className ? '.' + (element.className.baseVal ?? element.className) : ''}> "${(element.textContent || '').slice(0, 40)}"`;
    const isShown = element => element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0;
    const labelOf = element => (element.getAttribute('aria-label')
        || (element.getAttribute('aria-labelledby') || '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join(' ')
        || [...(element.labels ?? [])].map(label => label.textContent).join(' ')
        || element.textContent || element.getAttribute('alt') || '').trim();
    if (!document.documentElement.lang) wrong.push('the page has no language');
    if (!document.title) wrong.push('the page has no title');
    const headings = [...document.querySelectorAll('h1')].filter(isShown);
    if (headings.length !== 1) wrong.push(`${headings.length} h1`);
    if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
    const levels = [...document.querySelectorAll('main h1, main h2, main h3')].filter(isShown).map(heading => Number(heading.localName[1]));
    levels.forEach((level, index) => { if (level > (levels[index - 1] ?? 0) + 1) wrong.push(`heading ${index} leaves a level out`) });
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) wrong.push(`the id ${id} is there twice`);
    for (const attribute of ['for', 'aria-labelledby', 'aria-describedby'])
        for (const element of document.querySelectorAll(`[${attribute}]`))
            for (const id of element.getAttribute(attribute).split(' ')) if (!document.getElementById(id)) wrong.push(`${name(element)} names ${id}, which is not there`);
    for (const element of document.querySelectorAll('a, button, input, select, textarea, summary, [role=img], nav, dialog'))
        if (isShown(element) && !labelOf(element)) wrong.push(`${name(element)} has no name`);
    for (const element of document.querySelectorAll('a')) if (!element.hasAttribute('href')) wrong.push(`${name(element)} is a link to nowhere`);
    for (const element of document.querySelectorAll('img')) if (!element.hasAttribute('alt')) wrong.push('an image has no alt');
    for (const element of document.querySelectorAll('[tabindex]')) if (element.tabIndex > 0) wrong.push(`${name(element)} has an order of its own`);
    for (const element of document.querySelectorAll('[onclick], [style]:not(.part)')) wrong.push(`${name(element)} has a handler or a style in its tag`);
    for (const table of document.querySelectorAll('table')) {
        if (!table.caption?.textContent) wrong.push('a table has no caption');
        for (const cell of table.querySelectorAll('thead th')) if (cell.scope !== 'col' || !cell.textContent) wrong.push(`${name(cell)} is no header of a column`);
        for (const row of table.tBodies[0].rows) if (row.cells.length > 1 && row.cells[0].scope !== 'row') wrong.push(`${name(row)} has no header`);
    }
    // Targets must be large enough to be hit, but for links in a sentence.
    for (const element of document.querySelectorAll('button, input, select')) {
        const box = element.getBoundingClientRect();
        if (isShown(element) && element.type !== 'checkbox' && (box.height < 24 || box.width < 24)) wrong.push(`${name(element)} is ${Math.round(box.width)} by ${Math.round(box.height)}`);
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} wide and the screen ${innerWidth}`);
    // Contrast of each text with what is behind it.
    const parse = text => { const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number); return [red, green, blue, alpha] };
    const over = (upper, lower) => [0, 1, 2].map(index => upper[index] * upper[3] + lower[index] * (1 - upper[3])).concat(1);
    const light = color => color.slice(0, 3).map(value => value / 255).map(value => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
        .reduce((sum, value, index) => sum + value * [.2126, .7152, .0722][index], 0);
    const behind = element => {
        const layers = [];
        for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
        return layers.reverse().reduce((lower, upper) => over(upper, lower), [255, 255, 255, 1]);
    };
    const walker = document.createTreeWalker(page, NodeFilter.SHOW_TEXT), seen = new Set();
    let least = 21;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || seen.has(element) || !isShown(element) || element.closest('.unseen, noscript, script, .skip:not(:focus), [aria-disabled]')) continue;
        seen.add(element);
        const ground = behind(element), ink = over(parse(getComputedStyle(element).color), ground);
        const [high, low] = [light(ink), light(ground)].sort((one, other) => other - one);
        const contrast = (high + .05) / (low + .05);
        least = Math.min(least, contrast);
        if (contrast < 4.5) wrong.push(`${name(element)} has a contrast of ${contrast.toFixed(2)}`);
    }
    return {wrong, least, texts: seen.size};
})()"""


class Screen(chromium.Page):
    """A page of this size, in pixels, with these features of the media and domains of the protocol."""

    def __init__(self, browser, size, *domains, mobile=False, **features):
        super().__init__(browser)
        self.size, self.least, self.judged = size, 21, 0
        for domain in domains:
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[{"name": f"prefers-{name}", "value": value} for name, value in features.items()])

    def ask(self, script):
        return self.evaluate(script)

    def until(self, script, what, seconds=20):
        """Waits until an expression on the page is true."""
        deadline = time.monotonic() + seconds
        while not (found := self.ask(script)):
            if time.monotonic() > deadline:
                raise SystemExit(f"{what} did not come; the page has: {self.shown_text()[:1500]}")
            time.sleep(0.03)
        return found

    def has(self, text, seconds=20):
        self.until(f"document.body.innerText.includes({json.dumps(text)})", f"“{text}”", seconds)

    def do(self, *steps):
        """Takes steps: a verb, which is a method, and its objects, such as `has Sign in` or `fill Name: anna`."""
        for step in steps:
            verb, _, words = step.partition(" ")
            getattr(self, verb)(*(words.split(": ", 1) if verb in ("fill", "enter") else [words] if words else []))

    def judge(self, what):
        """Checks the drawn page by the rules."""
        found = self.ask(RULES)
        self.least, self.judged = min(self.least, found["least"]), self.judged + 1
        require(not found["wrong"], f"{what}: {'; '.join(found['wrong'][:8])}")
