/**
 * Loaded before a test file of a deterministic suite. The runner of node:test hooks into every promise, so as to tell which test an
 * error belongs to that nobody catches. A simulation is made of promises and takes up to twice as long with it. Without the hook
 * such an error fails the file instead of one of its tests.
 */
import asyncHooks, { type HookCallbacks } from "node:async_hooks";

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false });
