/** What a session has to do with its worker's death. */
export type Verdict = 'culprit' | 'suspect' | 'bystander'

/** Those who were on a worker when it died, the ones whose code ran last first. */
export type Witnesses<Session> = {
  aboard: readonly Session[]
  /** Whose code it was, if that is certain. */
  culprit?: Session
  /** Those with a tool at work. */
  busy?: ReadonlySet<Session>
  /** False: the worker never got so far as to run anything. */
  started: boolean
}

/** Who caused the deaths of workers. Holds nothing that must be closed. */
export type Suspects<Session> = {
  judge(witnesses: Witnesses<Session>): void
  /** The verdict on a session whose worker has just died; asked once per death. */
  verdictOf(session: Session): Verdict
  /** It runs on a worker of its own until it has survived there. */
  isApart(session: Session): boolean
  /** Its activation ended as it should. */
  clear(session: Session): void
}

const maxSuspects = 4

/**
 * Where the culprit is known, nobody else is touched. Where it is not (out of memory, an error thrown by a timer), at most
 * four suspects run apart, each alone, until one of them shows itself by dying again: first those that were there at
 * earlier deaths that nobody explained, then those with a tool at work, then those whose code ran last.
 */
export function createSuspects<Session extends object>(): Suspects<Session> {
  const verdicts = new WeakMap<Session, Verdict>()
  const apart = new WeakSet<Session>()
  /** How many deaths a session has seen that nobody explained. */
  const witnessed = new WeakMap<Session, number>()

  function blame(aboard: readonly Session[], blamed: readonly Session[], verdict: Verdict): void {
    for (const session of aboard) verdicts.set(session, 'bystander')
    for (const session of blamed) {
      verdicts.set(session, verdict)
      apart.add(session)
    }
  }

  function suspect(aboard: readonly Session[], busy: ReadonlySet<Session>): void {
    const times = (session: Session) => witnessed.get(session) ?? 0
    const isBusy = (session: Session) => Number(busy.has(session))
    const ranked = [...aboard].sort((a, b) => times(b) - times(a) || isBusy(b) - isBusy(a))
    blame(aboard, ranked.slice(0, maxSuspects), 'suspect')
    for (const session of aboard) witnessed.set(session, times(session) + 1)
  }

  return {
    judge({ aboard, culprit, busy = new Set(), started }) {
      if (!started) for (const session of aboard) verdicts.set(session, 'culprit')
      else if (culprit) blame(aboard, [culprit], 'culprit')
      else suspect(aboard, busy)
    },
    verdictOf(session) {
      const verdict = verdicts.get(session) ?? 'culprit'
      verdicts.delete(session)
      return verdict
    },
    isApart: (session) => apart.has(session),
    clear(session) {
      if (apart.delete(session)) witnessed.delete(session)
    },
  }
}
