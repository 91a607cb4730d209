/** The zone of this machine, for what belongs to no policy. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
