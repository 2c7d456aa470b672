"""Cue words of other languages, read as the English cue words that the rules know.

`WORDS` are words of scripts with spaces. `PHRASES` stand in running text without spaces, or hold marks that do not count as
letters, so they are looked for sign by sign. Words that mean something else in English (German "also", Portuguese
"logo") are left out.
"""

from __future__ import annotations


def _table(lines: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in lines.strip().splitlines():
        english, _, others = line.strip().partition(":")
        table.update(dict.fromkeys(others.split(), english))
    return table


WORDS = _table(
    """
    answer: antwort lösung réponse reponse respuesta risposta resposta antwoord cevap cevabı yanıt odpowiedź odpowiedzią
    answer: odpověď odpoveď svar svaret vastaus válasz răspuns răspunsul odgovor jawaban jawabannya jibu đáp
    answer: ответ відповідь отговор απάντηση תשובה התשובה الإجابة الاجابة إجابة الجواب جواب پاسخ
    option: opción opcion opção opcao opzione optie opsi opcja alternativa alternativ вариант варіант الخيار گزینه seçenek şık
    letter: letra lettre lettera buchstabe buchstaben litera буква букву
    is: ist lautet est es é è jest je este adalah ialah là är era sería wäre serait sarebbe это є هي هو הוא היא είναι
    correct: richtig richtige korrekt korrekte correcta correcto correcte correto corretta corretto juiste doğru bonne
    correct: poprawna poprawną správná rätt rätta riktige riktiga oikea helyes corectă benar đúng
    correct: правильный правильная правильно верный верно правильна الصحيحة الصحيح صحيحة הנכונה σωστή
    wrong: falsch incorrecta incorrecto incorreta incorreto errada errado sbagliata sbagliato fausse onjuist yanlış
    wrong: błędna salah неверный неверно неправильный неправильно خاطئة
    not: n'est nicht pas não niet değil nie inte ikke bukan không не ليست ليس
    but: sondern sino mais mas bensì но maar
    so: donc portanto quindi dunque daher deshalb folglich somit entonces więc dlatego alltså jadi
    so: поэтому следовательно значит итак לכן إذن
    and: und och og и та و
    or: oder oppure veya lub или або أو
    because: weil denn porque parce perché omdat karena çünkü ponieważ потому eftersom لأن
    the: án der das el il les los las una uno eine einen une
    """
)

PHRASES = _table(
    """
    answer: 答案 答え 答 正解 正答 解答 回答 选择 選擇 选 選 정답 답변 답 उत्तर जवाब উত্তর సమాధానం விடை คำตอบ
    option: 选项 選項 选择题 選択肢 선택지 보기 विकल्प বিকল্প ข้อ
    not: 不是 不选 不選 并非 不能 ではない ではありません じゃない 아닙니다 아니다 नहीं ไม่ใช่
    out: ではなく じゃなく 아니라
    but: 而是 但
    is: 是 为 為 は が 은 는 이 가 है হল হলো คือ 应该 應該 应为
    correct: 正确 正確 正しい 올바른 맞는 सही সঠিক సరైన ที่ถูกต้อง ถูกต้อง ถูก 最佳
    wrong: 错误 錯誤 不正确 不正確 不对 不對 誤り 間違い 틀린 틀렸 गलत ভুল ผิด
    so: 所以 因此 故 综上 綜上 したがって よって だから 따라서 그러므로 इसलिए ดังนั้น
    and: 和 与 與 及 と 와 과 และ और
    or: 或者 或 または 또는 หรือ या
    because: 因为 因為 なぜなら 왜냐하면 क्योंकि เพราะ
    the: 我 的 最终 最終 최종 अंतिम
    """
)
