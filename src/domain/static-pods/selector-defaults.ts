/** Defaults of references by which a variable or a file shows fields of its own pod. */
import type { ObjectFieldSelector, ResourceFieldSelector } from "../../api/gen/core-v1.ts";

export const defaultFieldRef = (selector: ObjectFieldSelector): ObjectFieldSelector => ({
  ...selector,
  apiVersion: selector.apiVersion || "v1",
});

export const defaultResourceRef = (selector: ResourceFieldSelector): ResourceFieldSelector => ({
  ...selector,
  divisor: selector.divisor ?? "0",
});
