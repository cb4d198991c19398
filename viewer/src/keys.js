// The keys of the page. Controls in focus keep those that they use themselves.

// what a control in focus does with its keys
const OWN = {
  checkbox: [" "], radio: [" "], range: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"],
  button: [" ", "Enter"], summary: [" ", "Enter"], select: [" ", "Enter", "ArrowUp", "ArrowDown", "Home", "End", "letters"],
  text: [" ", "Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Escape", "letters"],
};

function kind(target) {
  const tag = target?.localName;
  if (tag === "input") return /^(search|text|number)$/.test(target.type) ? "text" : target.type;
  return tag === "textarea" ? "text" : tag;
}

// `actions`: [keys, words, action]; an action gets the event
export class Keys {
  constructor(actions, list, busy) {
    for (const [keys, words] of actions) {
      const [names, meaning] = [document.createElement("dt"), document.createElement("dd")];
      for (const key of keys) names.append(Object.assign(document.createElement("kbd"), { textContent: NAMES[key] ?? key.toUpperCase() }));
      meaning.textContent = words;
      list.append(names, meaning);
    }
    window.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || busy()) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const own = OWN[kind(event.target)] ?? [];
      if (own.includes(key) || (key.length === 1 && key !== " " && own.includes("letters"))) return;
      const found = actions.find(([keys]) => keys.includes(key));
      if (!found) return;
      event.preventDefault();
      found[2](event, key);
    });
  }
}

const NAMES = { " ": "space", ArrowLeft: "←", ArrowRight: "→", Home: "home", End: "end", Escape: "esc", "-": "−" };
