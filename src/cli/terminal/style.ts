type Paint = (text: string) => string

/** Colours, or none. */
export type Style = { bold: Paint; dim: Paint; red: Paint; green: Paint; yellow: Paint; cyan: Paint }

/** `color: false` leaves text as it is. */
export function createStyle(color: boolean): Style {
  const paint =
    (open: number, close: number): Paint =>
    (text) =>
      color && text !== '' ? `\x1b[${open}m${text}\x1b[${close}m` : text
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  }
}

/** Whether a stream takes colours; follows https://no-color.org. */
export function takesColor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
}
