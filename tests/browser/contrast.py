"""Whether every word on the page can be read, with the figures drawn."""

from tests.browser.pages import Page

_CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = (c) => { const f = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045
  ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126*f[0] + 0.7152*f[1] + 0.0722*f[2]; };
const ground = (node) => { for (; node; node = node.parentElement) {
  const c = rgba(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c; }
  return [255, 255, 255, 255]; };
const poor = [];
for (const node of document.querySelectorAll('.rx-app *')) {
  const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !node.offsetParent && !node.closest('svg')) continue;
  if (node.closest(':disabled') || ['OPTION', 'STYLE'].includes(node.tagName)) continue;
  const style = getComputedStyle(node);
  const ink = node.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(rgba(ink)), light(ground(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push([node.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
}
return poor;
"""


def draw_inside(page: Page, data: str) -> None:
    """Draw from a data set so that some draws are in the set and every figure has something."""
    page.data(data)  # a budget is set once, so that each test draws from its own
    # Settings at which about half of the draws of so few rows are in the set.
    page.type_number("Threshold ψ", "0.1")
    page.type_number("Budget ε", "100")
    page.type_number("Privacy cost", "50")
    page.draw()
    page.drawn()
    page.wait(lambda: page.traces("people"), "the figures")


def check_contrast(page: Page) -> None:
    """Fail where ink and ground are closer than 4.5 : 1."""
    page.wait(lambda: page.traces("people").get("best model", 0) > 0, "the figures")
    assert page.browser.execute_script(_CONTRAST) == []
    assert page.alert == ""
    # Negative control: the measure sees a grey word on the card.
    page.browser.execute_script("document.querySelector('.rx-note').style.color = '#777777'")
    assert page.browser.execute_script(_CONTRAST)
    page.browser.execute_script("document.querySelector('.rx-note').style.color = ''")
