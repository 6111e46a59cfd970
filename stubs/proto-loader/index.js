// grpc-js requires the real @grpc/proto-loader lazily, from channelz and ORCA only, and Deckhand uses neither. Leaving it
// out takes 31 packages out of the tree. If one of them is ever switched on, this says so instead of failing oddly.
module.exports = new Proxy(
  {},
  {
    get(_target, name) {
      throw new Error(
        `@grpc/proto-loader is left out of this build (asked for ${String(name)}); see docs/dependencies.md`,
      );
    },
  },
);
