/** Lint rule: `new Date()` and `Date()` without arguments read the clock. No built-in rule tells them from `new Date(ms)`. */
const message = "reads the clock: take the time from the Clock port (wallMs), or pass it in as a value";

const rule = {
  create(context) {
    const check = (node) => {
      if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
      if (node.type === "CallExpression" || node.arguments.length === 0) context.report({ node, message });
    };
    return { NewExpression: check, CallExpression: check };
  },
};

export default { meta: { name: "deckhand" }, rules: { "bare-date": rule } };
