import type { Word } from './words.ts'

/** What a command line would run and touch, as far as can be told without running it. */
export type Script = {
  units: ShellUnit[]
  redirects: Redirect[]
  /** Why it is not understood, or does what no rule with a star should allow; empty: it is understood wholly. */
  problems: string[]
}

/** One simple command. */
export type ShellUnit = {
  words: Word[]
  /** As it is written, wrappers included. */
  source: string
  /** Set where a wrapper (`timeout 5 ...`) was taken off: all the words. */
  wrapped?: Word[]
  /** Why no rule with a star may allow it, when that shows around it: it sets a variable. */
  hazard?: string
  /** Every folder in which it may run. */
  folders: string[]
}

/** A file that the shell itself opens for a command. */
export type Redirect = { word: Word; writes: boolean; source: string; folders: string[] }

/** Longer commands are not parsed. */
export const maxCommandLength = 10_000
