// Drives fivebeans, whose calls take callbacks.

const fivebeans = require("fivebeans");
const { play } = require("./transcript.js");

/** Return a call as one that returns a promise; bodies of jobs become text. */
function promised(client, method) {
  return (...given) =>
    new Promise((resolve, reject) => {
      client[method](...given, (error, ...seen) => {
        const texts = seen.map((one) => (Buffer.isBuffer(one) ? one.toString() : one));
        if (error) reject(error);
        else resolve(texts.length > 1 ? texts : texts[0]);
      });
    });
}

async function open(port) {
  const client = new fivebeans.client("127.0.0.1", port);
  await new Promise((resolve, reject) => {
    client.on("connect", resolve).on("error", reject);
    client.connect();
  });
  const call = (method) => promised(client, method);
  return {
    put: (body, pri, delay, ttr) => call("put")(pri, delay, ttr, body),
    use: call("use"),
    reserve: call("reserve"),
    "reserve-with-timeout": call("reserve_with_timeout"),
    delete: call("destroy"),
    release: call("release"),
    bury: call("bury"),
    touch: call("touch"),
    watch: call("watch"),
    ignore: call("ignore"),
    peek: call("peek"),
    "peek-ready": call("peek_ready"),
    "peek-delayed": call("peek_delayed"),
    "peek-buried": call("peek_buried"),
    kick: call("kick"),
    "kick-job": call("kick_job"),
    stats: call("stats"),
    "stats-job": call("stats_job"),
    "stats-tube": call("stats_tube"),
    "list-tubes": call("list_tubes"),
    "list-tube-used": call("list_tube_used"),
    "list-tubes-watched": call("list_tubes_watched"),
    "pause-tube": call("pause_tube"),
    close: () => client.end(),
  };
}

play(open);
