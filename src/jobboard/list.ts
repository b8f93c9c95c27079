/** A list that never changes: adding shares all that was there. Newest first. */
export type List<T> = { head: T; tail: List<T> | undefined; length: number }

export function add<T>(list: List<T> | undefined, head: T): List<T> {
  return { head, tail: list, length: (list?.length ?? 0) + 1 }
}

/** The newest `max` entries (default all), oldest of them first. */
export function toArray<T>(list: List<T> | undefined, max = Number.POSITIVE_INFINITY): T[] {
  const items: T[] = []
  for (let at = list; at !== undefined && items.length < max; at = at.tail) items.push(at.head)
  return items.reverse()
}
