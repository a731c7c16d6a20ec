"""`relay view` and profiles in a browser: what is seen, what opens, what is found, and how soon."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay

pytestmark = pytest.mark.extras

PROGRAM = """import "std/list"
type Layer { Dense(Tensor[(2, 2), float32]), Relu }
// Applies a layer.
def @apply(%x: Tensor[(n, 2), float32], %layer: Layer) -> Tensor[(n, 2), float32] {
  match (%layer) { Dense(%w) => nn.dense(%x, %w), Relu => nn.relu(%x) }
}
def @main(%x: Tensor[(2, 2), float32]) {
  let %layers = Cons(Dense([[1.0, -1.0], [-1.0, 1.0]]), Cons(Relu, Nil));
  let %b = nn.softmax(exp(%x * 2f) + 1f);
  if (sum(%b) > 0f) { @foldl(@apply, %b, %layers) } else { %b }
}
"""
HIGHLIGHTED = "[...CSS.highlights.get('chosen')].map(r => r.toString()).join()"


def saved(tmp_path: Path, text: str, name: str = "program.relay") -> str:
    relay.parse(text, name).view(name).save(tmp_path / "view.html")
    return (tmp_path / "view.html").as_uri()


def large(count: int, each: int) -> str:
    """A program of `count` definitions of `each` operators."""
    lines = [
        "\n".join(
            [
                f"def @f{d}(%v0: Tensor[(8, 8), float32]) -> Tensor[(8, 8), float32] {{",
                *[f"  let %v{i + 1} = nn.relu(%v{i}) + %v{max(0, i - 3)};" for i in range(each // 2)],
                f"  %v{each // 2}\n}}",
            ]
        )
        for d in range(count)
    ]
    calls = "".join([f"  let %y{d + 1} = @f{d}(%y{d});\n" for d in range(count)])
    return "\n".join([*lines, f"def @main(%y0: Tensor[(8, 8), float32]) {{\n{calls}  %y{count}\n}}"])


def test_a_small_program_is_open_and_the_text_beside_it(
    open_page: Any, screenshot: Any, tmp_path: Path, accessible: Any
) -> None:
    page = open_page(saved(tmp_path, PROGRAM))
    texts = page.locator("#drawing text").all_text_contents()
    assert {
        "@main",
        "multiply exp add",
        "exp",
        "@foldl(@apply, ·, ·)",
        "(2, 2) float32",
        "Dense.0 (2, 2) float32",
    } <= set(texts)
    assert page.locator("#source").text_content() == PROGRAM
    boxes = page.eval_on_selector_all(
        "#drawing .node rect", "all => all.map(e => e.getBBox()).map(b => [b.x, b.y, b.width, b.height])"
    )
    for i, (x, y, w, h) in enumerate(boxes):
        for X, Y, W, H in boxes[:i]:
            assert x + w <= X or x >= X + W or y + h <= Y or y >= Y + H, "nodes do not overlap"
    widths = page.eval_on_selector_all(
        "#drawing .node text",
        "all => all.map(e => [e.getBBox().width, e.parentNode.querySelector('rect').getBBox().width])",
    )
    assert all(text <= box for text, box in widths), "names fit in their boxes"
    accessible(page)
    assert screenshot(page, "view-small").stat().st_size > 10_000


def test_places_are_marked_in_both_directions(open_page: Any, tmp_path: Path) -> None:
    page = open_page(saved(tmp_path, PROGRAM))
    page.locator("#drawing .node", has_text="nn.softmax").click()
    assert page.evaluate(HIGHLIGHTED) == "nn.softmax(exp(%x * 2f) + 1f)"
    assert "program.relay:9" in page.locator("#said").text_content()
    spot = page.evaluate("""() => {
      const range = document.createRange(), node = document.getElementById("source").firstChild;
      const at = node.data.indexOf("nn.relu");
      range.setStart(node, at + 1); range.setEnd(node, at + 2);
      const box = range.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    }""")
    page.mouse.click(*spot)
    assert page.locator("#drawing .chosen text").first.text_content() == "nn.relu"
    assert page.evaluate(HIGHLIGHTED) == "nn.relu(%x)"
    assert page.locator("#drawing .edge.near").count() == 2


def test_groups_close_and_open_and_search_finds_what_is_closed(
    open_page: Any, tmp_path: Path, screenshot: Any
) -> None:
    page = open_page(saved(tmp_path, PROGRAM))
    page.click("#none")
    assert page.locator("#drawing .node").count() == 0
    assert page.locator("#drawing .closed").count() == 3
    assert page.locator("#drawing .calls").count() >= 2, "who calls whom"
    page.keyboard.press("/")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    assert page.locator("#drawing .chosen text").first.text_content() == "%b = nn.softmax"
    assert page.locator("#drawing .open", has_text="@main").count() == 1
    page.keyboard.press("c")
    page.locator("#drawing .closed", has_text="@apply").click()
    assert page.locator("#drawing .node").count() > 0
    screenshot(page, "view-closed")
    page.keyboard.press("e")
    assert page.locator("#drawing .closed").count() == 0
    page.locator("#drawing .open text", has_text="@apply").dblclick()
    assert page.locator("#drawing .closed", has_text="@apply").count() == 1


def test_the_keyboard_does_it_all(open_page: Any, tmp_path: Path) -> None:
    page = open_page(saved(tmp_path, PROGRAM))
    page.keyboard.press("ArrowDown")
    assert page.locator("#drawing .chosen").count() == 1
    first = page.locator("#drawing .chosen").get_attribute("data-id")
    page.keyboard.press("ArrowDown")
    assert page.locator("#drawing .chosen").get_attribute("data-id") != first
    before = page.locator("#moved").get_attribute("transform")
    page.keyboard.press("+")
    assert page.locator("#moved").get_attribute("transform") != before
    page.keyboard.press("s")
    assert not page.locator("#side").is_visible()
    page.keyboard.press("t")
    assert "dark" in page.locator("body").get_attribute("class")
    page.keyboard.press("Escape")
    assert page.locator("#drawing .chosen").count() == 0
    page.keyboard.press("c")
    page.locator("#drawing .closed").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#drawing .open").count() >= 1


def test_dragging_and_the_wheel_move_the_picture(open_page: Any, tmp_path: Path) -> None:
    page = open_page(saved(tmp_path, PROGRAM))

    def where() -> list[float]:
        said = page.locator("#moved").get_attribute("transform")
        return [float(x) for x in re.findall(r"-?[\d.]+", said)]

    x, y, scale = where()
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(340, 360, steps=4)
    page.mouse.up()
    assert where() == pytest.approx([x + 40, y + 60, scale], abs=1)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    assert where()[2] > scale


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark")])
def test_a_phone_and_the_dark(
    width: int, scheme: str, open_page: Any, tmp_path: Path, fits: Any, accessible: Any, screenshot: Any
) -> None:
    page = open_page(saved(tmp_path, PROGRAM), width=width, scheme=scheme)
    assert page.locator("#drawing").bounding_box()["height"] > 250
    assert page.locator("#text").bounding_box()["height"] > 100
    fits(page)
    accessible(page)
    screenshot(page, f"view-{width}-{scheme}")


def test_a_large_program_begins_with_its_definitions(open_page: Any, tmp_path: Path, screenshot: Any) -> None:
    url = saved(tmp_path, large(50, 200))
    page = open_page(url)
    assert page.locator("#said").text_content() == "51 definitions, 10,152 nodes"
    assert page.locator("#drawing .closed").count() == 51
    assert page.locator("#drawing .node").count() == 0
    screenshot(page, "view-large")
    page.locator("#drawing .closed", has_text="@main").click()
    assert page.locator("#drawing .node").count() >= 50
    page.keyboard.press("e")
    assert page.locator("#drawing .node, #drawing .closed").count() < 450


def test_parts_of_a_long_definition_open_one_by_one(open_page: Any, tmp_path: Path) -> None:
    page = open_page(saved(tmp_path, large(1, 20_000)))
    page.locator("#drawing .closed", has_text="@f0").click()
    assert 0 < page.locator("#drawing .closed", has_text="part").count() <= 100
    page.locator("#drawing .closed", has_text="part 1 of").first.click()
    page.locator("#drawing .closed", has_text="part").first.click()
    assert page.locator("#drawing .node").count() > 0


def test_a_profile_shows_time_and_memory(
    open_page: Any, tmp_path: Path, screenshot: Any, accessible: Any, fits: Any
) -> None:
    text = """def @layer(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  nn.relu(nn.dense(%x, %w) + 1f)
}
def @main(%x: Tensor[(64, 64), float32]) { nn.softmax(@layer(@layer(%x, %x), %x)) }
"""
    x = np.ones((64, 64), "float32")
    relay.build(relay.parse(text, "net.relay")).profile(x, repeat=3).save_html(tmp_path / "profile.html")
    page = open_page((tmp_path / "profile.html").as_uri())
    labels = page.eval_on_selector_all("#flame g", "all => all.map(g => g.getAttribute('aria-label'))")
    assert labels[0].startswith("@main, ")
    assert any(x.startswith("@layer, ") for x in labels)
    assert any(x.startswith("net.relay:2, ") for x in labels)
    assert any("dense add relu" in x for x in labels)
    assert "memory, at most " in page.locator("#memory text").text_content()
    assert "GFLOP/s" in page.locator("#tables").text_content()
    assert "before the first group" in page.locator("#tables").text_content()
    widths = page.eval_on_selector_all(
        "#flame rect", "all => all.map(r => [r.getBBox().x, r.getBBox().width])"
    )
    assert all(x + w <= widths[0][0] + widths[0][1] + 1 for x, w in widths)
    page.locator("#flame .work").first.click()
    assert page.locator("#drawing .chosen").count() == 1
    assert "%" in page.locator("#said").text_content()
    accessible(page)
    fits(page)
    screenshot(page, "profile")
    phone = open_page((tmp_path / "profile.html").as_uri(), width=390, scheme="dark")
    fits(phone)
    accessible(phone)
    screenshot(phone, "profile-390-dark")


def test_a_view_stands_in_a_page_that_its_script_cannot_reach(open_page: Any, tmp_path: Path) -> None:
    shown = relay.parse(PROGRAM, "program.relay").view()._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>notebook</title><body>{shown}")
    page = open_page((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#drawing .node", has_text="nn.softmax").wait_for()
    assert frame.locator("#source").text_content() == PROGRAM
