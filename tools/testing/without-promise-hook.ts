/**
 * Preloaded before a test file of a deterministic suite. node:test's runner hooks into every promise, to find which
 * test an uncaught error belongs to. A simulation consists of promises and takes up to twice as long with the hook.
 * Without the hook such an error fails the file instead of one of its tests.
 */
import asyncHooks, { type HookCallbacks } from "node:async_hooks";

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false });
