package sealpost.client;

import androidx.annotation.Nullable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Times in requests and answers, in milliseconds since 1970; {@code java.time} needs API level 26.
 */
final class Times {
    /** RFC 3339, with any zone and any fraction. */
    private static final Pattern RFC3339 = Pattern.compile(
            "(\\d{4})-(\\d\\d)-(\\d\\d)[Tt](\\d\\d):(\\d\\d):(\\d\\d)(?:\\.\\d+)?(?:[Zz]|([+-])(\\d\\d):(\\d\\d))");
    /** The form of a date that servers send (RFC 9110 section 5.6.7). */
    private static final Pattern HTTP =
            Pattern.compile("[A-Z][a-z]{2}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) (\\d\\d):(\\d\\d):(\\d\\d) GMT");

    private static final String MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

    private Times() {}

    /** The time in whole seconds; null for other texts. */
    static @Nullable Long fromRfc3339(@Nullable String text) {
        if (text == null) return null;
        Matcher part = RFC3339.matcher(text);
        if (!part.matches()) return null;
        Long time = at(number(part, 1), number(part, 2), number(part, 3), number(part, 4), number(part, 5), number(part, 6));
        if (time == null || part.group(7) == null) return time;
        long offset = (number(part, 8) * 60L + number(part, 9)) * 60_000;
        return part.group(7).equals("+") ? time - offset : time + offset;
    }

    static @Nullable Long fromHttp(@Nullable String text) {
        if (text == null) return null;
        Matcher part = HTTP.matcher(text);
        if (!part.matches()) return null;
        int month = MONTHS.indexOf(part.group(2));
        if (month < 0 || month % 3 != 0) return null;
        return at(number(part, 3), month / 3 + 1, number(part, 1), number(part, 4), number(part, 5), number(part, 6));
    }

    private static int number(Matcher matcher, int group) {
        return Integer.parseInt(matcher.group(group));
    }

    private static @Nullable Long at(int year, int month, int day, int hour, int minute, int second) {
        if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return null;
        return ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000L;
    }

    /**
     * Days since 1970 in the Gregorian calendar. The calculation lets years begin in March, so
     * that a leap day is the last day of its year.
     */
    private static long days(int year, int month, int day) {
        long shifted = month > 2 ? year : year - 1L;
        long era = Math.floorDiv(shifted, 400L);
        long yearOfEra = shifted - era * 400;
        long dayOfYear = (153L * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468;
    }
}
