// Types of temporal-binary.mjs for the compiled sources, which are built without plain JavaScript.

export const TEMPORAL_VERSION: string;
export function findTemporal(): Promise<string | null>;
export function ensureTemporal(): Promise<string>;
