/** `950`, `1.2k`, `34k`, `1.5M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count)
  if (count < 9_950) return `${(count / 1000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1000)}k`
  return `${(count / 1e6).toFixed(1)}M`
}

/** `16,384`. Without `toLocaleString`, whose first use loads the languages of the world: 20 ms. */
export function withSeparators(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `3 jobs`, `1 job`. */
export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** `0.8 s`, `12 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** `2026-03-01 14:05`, in local time. */
export function localTime(at: number): string {
  const date = new Date(at)
  const two = (number: number) => String(number).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}
